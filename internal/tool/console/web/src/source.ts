import { asked, type Time } from "./address";
import { get, Problem } from "./api";
import type { Matrix, SignalsAnswer } from "./types";

/** Question has the parameters of GET /v1/heat. */
export interface Question {
  time: Time;
  filter: string;
  index: string;
  unfold: string[];
}

/** Source reads heat, and what CloudWatch shows beside it. */
export class Source {
  private signals: { at: number; answer: SignalsAnswer | undefined } = { at: 0, answer: undefined };

  heat(q: Question, signal: AbortSignal): Promise<Matrix> {
    const query = new URLSearchParams({ ...asked(q.time), group: "base", ...(q.filter ? { filter: q.filter } : {}), ...(q.index ? { index: q.index } : {}) });
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
