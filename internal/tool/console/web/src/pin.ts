import { copier, fill, h } from "./dom";
import { quoted } from "./text";

/** Pin is a form that composes the command that pins a shard count. The console itself changes nothing. */
export class Pin {
  readonly element = h("div", {});
  private readonly input = h("input", { type: "number", id: "pin", min: "1", max: "1000" });
  private readonly line = h("div", {});
  private touched = false;

  constructor(private readonly program: string, private readonly base: { type: string; name: string }) {
    this.input.addEventListener("input", () => {
      this.touched = true;
      this.write();
    });
    fill(this.element, h("p", { class: "ask" }, h("label", { for: "pin" }, "Write shards"), this.input), this.line,
      h("p", { class: "quiet" }, "Run the command in a shell; the console changes nothing. Use --unpin to return control to autoscaling."));
  }

  /** propose sets the shard count that the advice names, until the user enters one. */
  propose(advice: string | undefined): void {
    if (this.touched) return;
    this.input.value = /to (\d+) write shards|write shards to (\d+)/.exec(advice ?? "")?.slice(1).find(Boolean) ?? "";
    this.write();
  }

  private write(): void {
    const n = Math.min(1000, Math.max(0, Math.round(Number(this.input.value)) || 0));
    const text = `${this.program} --type ${this.base.type} --name=${quoted(this.base.name)} --shards ${n}`;
    fill(this.line, n > 0 && h("div", { class: "command" }, h("code", { id: "set-command" }, text), copier(() => text, "the command")));
  }
}
