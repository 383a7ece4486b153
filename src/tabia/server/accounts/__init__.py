"""People: who asks and what they may do, accounts, sessions, tokens, invites, export and deletion."""
