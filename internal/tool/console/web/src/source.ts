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

/** Source reads heat, and what the limiter shows beside it. */
export class Source {
  heat(q: Question, signal: AbortSignal): Promise<Matrix> {
    const query = new URLSearchParams({ ...asked(q.time), group: "base", ...(q.filter ? { filter: q.filter } : {}), ...(q.index ? { index: q.index } : {}) });
    for (const key of q.unfold) query.append("unfold", key);
    return get<Matrix>("/v1/heat", query, signal);
  }

  /** beside returns throttled writes of the heat's time range; undefined if they can't be read. */
  async beside(heat: Matrix, index: string, signal: AbortSignal): Promise<SignalsAnswer | undefined> {
    try {
      return await get<SignalsAnswer>("/console/signals", new URLSearchParams({ from: heat.from, to: heat.to, step: heat.step, ...(index ? { index } : {}) }), signal);
    } catch (fault) {
      if (signal.aborted || !(fault instanceof Problem)) throw fault;
      return undefined; // the map is drawn without them
    }
  }
}
