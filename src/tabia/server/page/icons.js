/** Icons with one stroke width, drawn for this page; decoration only, so hidden from screen readers. */
import { html, svg } from "./lit.js";

const SHAPES = {
  undo: svg`<path d="M8 5 3 10l5 5M3 10h9a5 5 0 0 1 0 10h-2"/>`,
  hint: svg`<path d="M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 10.9c.6.5.5 1.1.5 2.1h6c0-1 0-1.6.5-2.1A6 6 0 0 0 12 3Z"/>`,
  flag: svg`<path d="M6 21V4m0 0h11l-2.5 4L17 12H6"/>`,
  plus: svg`<path d="M12 5v14M5 12h14"/>`,
  first: svg`<path d="M18 6l-7 6 7 6M7 6v12"/>`,
  last: svg`<path d="m6 6 7 6-7 6M17 6v12"/>`,
  back: svg`<path d="m15 6-7 6 7 6"/>`,
  next: svg`<path d="m9 6 7 6-7 6"/>`,
  play: svg`<path d="M8 5.5v13l10-6.5Z"/>`,
  pause: svg`<path d="M9 6v12M15 6v12"/>`,
  stop: svg`<rect x="6.5" y="6.5" width="11" height="11" rx="1.5"/>`,
  share: svg`<path d="M12 15V4m0 0L8 8m4-4 4 4M5 13v6h14v-6"/>`,
  download: svg`<path d="M12 4v11m0 0 4-4m-4 4-4-4M5 17v3h14v-3"/>`,
  swap: svg`<path d="M7 4 4 7l3 3M4 7h13M17 14l3 3-3 3M20 17H7"/>`,
  again: svg`<path d="M19 12a7 7 0 1 1-2-5m2-3v4h-4"/>`,
  search: svg`<circle cx="11" cy="11" r="6"/><path d="m16 16 4 4"/>`,
  theme: svg`<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16Z" class="filled"/>`,
  settings: svg`<path d="M4 7h9m5 0h2M4 17h3m5 0h8"/><circle cx="15.5" cy="7" r="2.2"/><circle cx="9.5" cy="17" r="2.2"/>`,
  help: svg`<circle cx="12" cy="12" r="8.5"/><path d="M9.7 9.5a2.4 2.4 0 1 1 3.5 2.2c-.8.4-1.2.9-1.2 1.8M12 16.4v.1"/>`,
  close: svg`<path d="m6 6 12 12M18 6 6 18"/>`,
  warn: svg`<path d="M12 4 3 19.5h18ZM12 10v4.5M12 17v.1"/>`,
  board: svg`<rect x="4" y="4" width="16" height="16" rx="3"/><circle cx="9" cy="9" r="1.6"/><circle cx="15" cy="15" r="1.6"/>`,
  graph: svg`<path d="M4 19V5m0 14h16M7 15l4-5 3 3 5-7"/>`,
  tree: svg`<circle cx="12" cy="5" r="2"/><circle cx="6" cy="18" r="2"/><circle cx="18" cy="18" r="2"/><path d="M11 7 7 16M13 7l4 9"/>`,
  podium: svg`<path d="M4 20v-6h5v6M9 20V8h6v12M15 20v-9h5v9M3 20h18"/>`,
  person: svg`<circle cx="12" cy="8" r="3.8"/><path d="M4.5 20c.8-4 3.8-6 7.5-6s6.7 2 7.5 6"/>`,
  friends: svg`<circle cx="9" cy="8.5" r="3.3"/><path d="M2.8 19c.6-3.5 3-5.2 6.2-5.2s5.6 1.7 6.2 5.2M15 5.5a3.3 3.3 0 0 1 0 6M17.5 14.2c2 .7 3.3 2.3 3.7 4.8"/>`,
  link: svg`<path d="M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.2"/>`,
  copy: svg`<rect x="8.5" y="8.5" width="11" height="11" rx="2"/><path d="M15.5 8.5v-2a2 2 0 0 0-2-2h-7a2 2 0 0 0-2 2v7a2 2 0 0 0 2 2h2"/>`,
  exit: svg`<path d="M14 4H6v16h8M10 12h10m0 0-3.5-3.5M20 12l-3.5 3.5"/>`,
  check: svg`<path d="m5 13 4.5 4.5L19 7"/>`,
};

/** @param {keyof typeof SHAPES} name */
export function icon(name) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${SHAPES[name]}</svg>`;
}
