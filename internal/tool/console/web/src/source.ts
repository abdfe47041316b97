import { asked, type Time } from "./address";
import { get, Problem } from "./api";
import { applied } from "./delta";
import type { Matrix, SignalsAnswer } from "./types";

/** Question has the parameters of GET /v1/heat. */
export interface Question {
  time: Time;
  filter: string;
  index: string;
  unfold: string[];
}

/** Source reads heat: the full answer first, then deltas. */
export class Source {
  private question = "";
  private known: Matrix | undefined;
  private signals: { at: number; answer: SignalsAnswer | undefined } = { at: 0, answer: undefined };

  /** heat returns the current full answer. */
  async heat(q: Question, signal: AbortSignal): Promise<Matrix> {
    const id = JSON.stringify(q);
    const known = id === this.question ? this.known : undefined;
    const after: Record<string, string> = known?.layout && known.as_of ? { layout: known.layout, after: known.as_of } : {};
    let answer = await this.ask(q, after, signal);
    let whole = answer.delta ? known && applied(known, answer, q.time.range !== "") : answer;
    if (!whole) whole = answer = await this.ask(q, {}, signal);
    [this.question, this.known] = [id, whole];
    return whole;
  }

  private ask(q: Question, after: Record<string, string>, signal: AbortSignal): Promise<Matrix> {
    const query = new URLSearchParams({ ...asked(q.time), group: "base", ...(q.filter ? { filter: q.filter } : {}), ...(q.index ? { index: q.index } : {}), ...after });
    for (const key of q.unfold) query.append("unfold", key);
    return get<Matrix>("/v1/heat", query, signal);
  }

  /** beside returns throttled writes and splits of the heat's time range. CloudWatch is called at most every 30 s. */
  async beside(heat: Matrix, index: string, signal: AbortSignal): Promise<SignalsAnswer | undefined> {
    const { at, answer } = this.signals;
    const rarely = answer && answer.source !== "limiter" && answer.step === heat.step && Date.now() - at < 30_000;
    if (rarely) return answer;
    try {
      const fresh = await get<SignalsAnswer>("/console/signals", new URLSearchParams({ from: heat.from, to: heat.to, step: heat.step, ...(index ? { index } : {}) }), signal);
      this.signals = { at: Date.now(), answer: fresh };
    } catch (fault) {
      if (signal.aborted || !(fault instanceof Problem)) throw fault;
      this.signals = { at: Date.now(), answer: undefined }; // the map is drawn without them
    }
    return this.signals.answer;
  }
}
