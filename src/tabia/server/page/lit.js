/**
 * The parts of Lit the page uses, and the base class of its elements.
 *
 * Elements render into the light DOM: one style sheet (app.css) covers the whole page, which a strict content security
 * policy allows, and labels, live regions and tests see one document.
 */
import { LitElement } from "./vendor/lit/lit-element.js";

export { html, nothing, svg } from "./vendor/lit/lit-html.js";
export { live } from "./vendor/lit/live.js";
export { repeat } from "./vendor/lit/repeat.js";

export class Element extends LitElement {
  createRenderRoot() {
    return this;
  }

  /** Emit a bubbling event with details. @param {string} name @param {any} [detail] */
  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }
}
