/** Problem is the error of a failed call. Its status is the HTTP status, or 0 without an answer. */
export class Problem extends Error {
  constructor(readonly status: number, readonly title: string, readonly detail: string) {
    super(detail || title);
  }
}

const patience = 15_000; // timeout of one call, in ms

/** get calls the server and returns the parsed JSON. It throws a Problem if the call fails. */
export async function get<T>(path: string, parameters: Record<string, string> | URLSearchParams = {}, signal?: AbortSignal): Promise<T> {
  const query = new URLSearchParams(parameters).toString();
  const timeout = AbortSignal.timeout(patience);
  let answer: Response;
  try {
    answer = await fetch(query ? `${path}?${query}` : path, {
      headers: { Accept: "application/json" }, signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    if (answer.ok) return (await answer.json()) as T;
  } catch (fault) {
    if (signal?.aborted) throw fault;
    if (fault instanceof SyntaxError) throw new Problem(502, "The answer is not JSON", `${path}: ${fault.message}`);
    throw new Problem(0, "Disconnected", timeout.aborted ? `${path} did not answer within ${patience / 1000} s` : "");
  }
  let said: { title?: string; detail?: string; errors?: { message?: string; location?: string }[] } = {};
  try {
    said = await answer.json();
  } catch {
    // The body is no problem JSON; the status says enough.
  }
  const faults = (said.errors ?? []).map((e) => `${e.location ?? ""} ${e.message ?? ""}`.trim());
  throw new Problem(answer.status, said.title ?? answer.statusText, [said.detail, ...faults].filter(Boolean).join("; "));
}
