// The theme follows the system until the user chooses one. The choice is kept in the browser's local storage.

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

/** themed makes a button switch between the themes. */
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
      // Storage is blocked: the choice is lost on reload.
    }
    apply(next);
  });
  choose();
}

/** onTheme calls the listener after each change of the theme, and returns a function that removes it. */
export function onTheme(listener: () => void): () => void {
  listeners.push(listener);
  return () => void listeners.splice(listeners.indexOf(listener), 1);
}

/** colour returns the value of a CSS custom property. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
