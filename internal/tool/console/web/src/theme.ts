// Light and dark follow the system until a person chooses. The choice is kept if the browser allows it.

const stored = "hotshard-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];

function own(): string | null {
  try {
    return localStorage.getItem(stored);
  } catch {
    return null;
  }
}

export function dark(): boolean {
  return document.documentElement.dataset["theme"] === "dark";
}

function apply(theme: string): void {
  document.documentElement.dataset["theme"] = theme;
  for (const l of listeners) l();
}

function choose(): void {
  apply(own() ?? (system.matches ? "dark" : "light"));
}

/** themed makes a button switch the theme. */
export function themed(button: HTMLElement): void {
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Change to the light theme" : "Change to the dark theme");
  };
  listeners.push(name);
  system.addEventListener("change", choose);
  button.addEventListener("click", () => {
    const next = dark() ? "light" : "dark";
    try {
      localStorage.setItem(stored, next);
    } catch {
      // The choice holds for this page only.
    }
    apply(next);
  });
  choose();
}

/** onTheme is called after each change. */
export function onTheme(listener: () => void): () => void {
  listeners.push(listener);
  return () => void listeners.splice(listeners.indexOf(listener), 1);
}

/** colour is the value of a custom property of the style sheet. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
