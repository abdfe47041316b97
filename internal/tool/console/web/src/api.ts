import type { Matrix } from "./types";

/** Problem is the error of a failed call. Its status is the HTTP status, or 0 without an answer. */
export class Problem extends Error {
  constructor(readonly status: number, readonly title: string, readonly detail: string) {
    super(detail || title);
  }
}

// A file that hotshard console --out made has all answers in an element.
const data = document.getElementById("data");
const answers = data && (JSON.parse(data.textContent ?? "") as Record<string, unknown>);

/** inFile reports whether the page is a file with its data inside, and has no server. */
export const inFile = answers !== null;

/** fileSpan returns the time that a file shows; undefined if there is a server. */
export function fileSpan(): { from: string; to: string } | undefined {
  return answers?.["/v1/heat"] as Matrix | undefined;
}

/** kept returns the file's answer to a call. Of its parameters only the index matters. */
function kept<T>(path: string, parameters: Record<string, string> | URLSearchParams): T {
  const index = new URLSearchParams(parameters).get("index");
  const answer = answers![index ? `${path}?index=${index}` : path];
  if (answer === undefined) throw new Problem(404, "Not in this file", `${path} ${index ?? ""}`);
  return answer as T;
}

const patience = 15_000; // timeout of one call, in ms

/** get calls the server and returns the parsed JSON. In a file it returns the file's answer. It throws a Problem if the call fails. */
export async function get<T>(path: string, parameters: Record<string, string> | URLSearchParams = {}, signal?: AbortSignal): Promise<T> {
  if (inFile) return kept<T>(path, parameters);
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
