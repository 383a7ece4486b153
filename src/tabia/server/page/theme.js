/** Light, dark or the system's theme, and the sounds of the board (off unless chosen). */
import { store } from "./store.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Apply the chosen theme; called at the start and after every change. */
export function applyTheme() {
  const { theme } = store.prefs;
  const shown = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  document.documentElement.dataset.theme = shown;
  document.documentElement.dataset.palette = store.prefs.palette;
  const color = getComputedStyle(document.documentElement).getPropertyValue("--surface").trim();
  document.querySelector('meta[name="theme-color"]')?.setAttribute("content", color);
}

dark.addEventListener("change", applyTheme);

export const still = matchMedia("(prefers-reduced-motion: reduce)");

/** @type {AudioContext|null} */
let audio = null;

const SOUNDS = { move: [[180, 0.07]], win: [[523, 0.12], [659, 0.12], [784, 0.2]], lose: [[330, 0.15], [247, 0.25]], illegal: [[110, 0.08]] };

/** Play a short sound where the reader wants them. @param {keyof typeof SOUNDS} name */
export function sound(name) {
  if (!store.prefs.sound) return;
  audio ??= new AudioContext();
  let at = audio.currentTime;
  for (const [pitch, length] of SOUNDS[name]) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.12, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + length);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + length);
    at += length;
  }
}
