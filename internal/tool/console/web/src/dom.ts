type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | boolean | EventListener | undefined>;

// Each element has one DOM listener per event type. The listener calls the handler in this map, which patch replaces.
const handlers = new WeakMap<Element, Map<string, EventListener>>();

function listen(element: Element, type: string, handler: EventListener): void {
  let own = handlers.get(element);
  if (!own) handlers.set(element, (own = new Map()));
  if (!own.has(type)) element.addEventListener(type, (e) => own.get(type)!(e));
  own.set(type, handler);
}

/** h creates an element. Strings become text nodes and are never parsed as markup. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") listen(made, name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (typeof value === "string") made.setAttribute(name, value);
  }
  made.append(...nodes(children));
  return made;
}

function nodes(children: Child[]): (Node | string)[] {
  return children.filter((c): c is Node | string => c instanceof Node || (typeof c === "string" && c !== ""));
}

/**
 * fill replaces an element's children. It patches elements that stay, so that scroll positions, the selection and
 * the focus survive. It matches elements by data-at, and those without it by position.
 */
export function fill(parent: Element, ...children: Child[]): void {
  const active = document.activeElement;
  patchChildren(parent, nodes(children).map((c) => (typeof c === "string" ? document.createTextNode(c) : c)));
  if (active instanceof HTMLElement && active !== document.activeElement && parent.contains(active)) active.focus({ preventScroll: true });
}

function keyOf(node: Node): string | undefined {
  return node instanceof HTMLElement ? node.dataset["at"] : undefined;
}

function alike(a: Node, b: Node): boolean {
  return a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
}

function patchChildren(parent: Element, fresh: Node[]): void {
  const wanted = new Set(fresh.map(keyOf));
  for (const old of [...parent.children]) if (!wanted.has(keyOf(old))) old.remove();
  const known = new Map([...parent.children].map((old) => [keyOf(old), old]));
  let next = parent.firstChild;
  for (const node of fresh) {
    const key = keyOf(node);
    const old = key === undefined ? next : known.get(key);
    if (!old || !alike(old, node)) {
      parent.insertBefore(node, next);
      continue;
    }
    if (old === next) next = next.nextSibling;
    else parent.insertBefore(old, next);
    patch(old, node);
  }
  while (next) {
    const rest: ChildNode | null = next.nextSibling;
    next.remove();
    next = rest;
  }
}

/** patch makes an old element equal to a fresh one. It keeps the user's state, such as an open details element. */
function patch(old: Node, fresh: Node): void {
  if (old === fresh) return;
  if (old instanceof Text && fresh instanceof Text) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (!(old instanceof HTMLElement) || !(fresh instanceof HTMLElement)) return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (name === "style") old.style.cssText = fresh.style.cssText; // the Content-Security-Policy forbids style attributes
    else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  handlers.get(fresh)?.forEach((handler, type) => listen(old, type, handler));
  patchChildren(old, [...fresh.childNodes]);
}

/** at returns the element with an id. */
export function at<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found as T;
}

/** copier returns a button that copies a text. what names the text in the button's label. */
export function copier(text: () => string, what: string): HTMLButtonElement {
  const copy = async (e: Event) => {
    const button = e.currentTarget as HTMLElement;
    try {
      await navigator.clipboard.writeText(text());
      button.dataset["state"] = "copied";
    } catch {
      button.dataset["state"] = "failed";
    }
    setTimeout(() => delete button.dataset["state"], 2000);
  };
  return h("button", { type: "button", class: "copy", "aria-label": `Copy ${what}`, title: `Copy ${what}`, onclick: ((e: Event) => void copy(e)) as EventListener });
}

/** command returns a shell command with a copy button. */
export function command(text: string): HTMLElement {
  return h("div", { class: "command" }, h("code", {}, text), copier(() => text, "the command"));
}
