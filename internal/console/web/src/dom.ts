type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | boolean | EventListener | undefined>;

/** h makes an element. Strings become text nodes: nothing is ever parsed as markup. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (typeof value === "string") made.setAttribute(name, value);
  }
  made.append(...children.filter((c): c is Node | string => c instanceof Node || (typeof c === "string" && c !== "")));
  return made;
}

/** fill puts children in the place of an element's own, and keeps the focus where its text stays. */
export function fill(parent: Element, ...children: Child[]): void {
  const active = document.activeElement;
  const id = active && parent.contains(active) ? (active as HTMLElement).dataset["at"] : undefined;
  parent.replaceChildren(...children.filter((c): c is Node | string => c instanceof Node || (typeof c === "string" && c !== "")));
  if (id !== undefined) parent.querySelector<HTMLElement>(`[data-at="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
}

/** at finds an element of the page. */
export function at<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

/** copier is a button that copies a text. */
export function copier(text: () => string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "small" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it and copy by hand";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return button;
}

/** command is a line for the shell, with a button that copies it. */
export function command(text: string): HTMLElement {
  return h("div", { class: "command" }, h("code", {}, text), copier(() => text));
}
