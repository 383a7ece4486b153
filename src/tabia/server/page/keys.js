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

/** Whether a key belongs to the control that has the focus. @param {EventTarget|null} target @param {string} key */
export function isTaken(target, key) {
  if (!(target instanceof HTMLElement) || target.dataset.keys === "page") return false; // A slider may do what the keys do.
  if (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName)) return true;
  if (target instanceof HTMLInputElement) return !/^(radio|checkbox|range|file)$/.test(target.type) || key === " " || key.length > 1;
  return key === " " && Boolean(target.closest("button, a, summary, label"));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTaken(event.target, event.key) || document.querySelector("dialog[open]")) return;
  if (event.key.length === 1 && !store.prefs.keys) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = shortcuts().find((shortcut) => shortcut.keys.includes(key));
  if (found) {
    event.preventDefault();
    found.run(event);
  }
});
