/**
 * Keyboard shortcuts. A view declares its keys with their meaning; the help dialog lists the ones in force.
 *
 * Single characters can be switched off (WCAG 2.1.4); arrows, Home, End and Escape always work.
 */
import { store } from "./store.js";

/** @typedef {{keys: string[], label: string, run: (event: KeyboardEvent) => void}} Shortcut */

/** @type {Set<{host: any, list: () => Shortcut[]}>} */
const active = new Set();

/** A Lit controller: shortcuts in force while its host is on the page. */
export class Shortcuts {
  /** @param {any} host @param {() => Shortcut[]} list */
  constructor(host, list) {
    this.entry = { host, list };
    host.addController(this);
  }

  hostConnected() {
    active.add(this.entry);
  }

  hostDisconnected() {
    active.delete(this.entry);
  }
}

/** All shortcuts in force, for the help. @returns {Shortcut[]} */
export function shortcuts() {
  return [...active].flatMap(({ list }) => list());
}

/** Whether typed characters belong to a control. @param {EventTarget|null} target */
function typing(target) {
  if (target instanceof HTMLElement && target.dataset.keys === "page") return false; // A slider that does what the keys do.
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key.length === 1 && !store.prefs.keys) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = shortcuts().find((shortcut) => shortcut.keys.includes(key));
  if (found) {
    event.preventDefault();
    found.run(event);
  }
});
