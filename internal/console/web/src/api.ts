import { quoted } from "./text";
import type { About } from "./types";

/** Problem is an answer that is no success; status 0 is no answer. */
export class Problem extends Error {
  constructor(readonly status: number, readonly title: string, readonly detail: string) {
    super(detail || title);
  }
}

const patience = 15_000; // ms for one call

/** get asks the server and reads its JSON. */
export async function get<T>(path: string, parameters: Record<string, string> = {}, signal?: AbortSignal): Promise<T> {
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
    throw new Problem(0, "No answer", timeout.aborted ? `${path} did not answer within ${patience / 1000} s` : "");
  }
  let said: { title?: string; detail?: string; errors?: { message?: string; location?: string }[] } = {};
  try {
    said = await answer.json();
  } catch {
    // Not one of the API's own problems: the status has to do.
  }
  const faults = (said.errors ?? []).map((e) => `${e.location ?? ""} ${e.message ?? ""}`.trim());
  throw new Problem(answer.status, said.title ?? answer.statusText, [said.detail, ...faults].filter(Boolean).join("; "));
}

/** program is how the command line is called where shards set is called like this. */
export function program(about: About): string {
  return about.command.split(" shards set")[0] || "hotshard";
}

/** remedy says in a sentence or two what went wrong, and what a person does about it. */
export function remedy(fault: unknown, about: About): { what: string; then: string; line?: string } {
  if (!(fault instanceof Problem)) return { what: "This page failed.", then: String(fault) };
  const start = program(about) + (about.mode === "local" ? " local" : about.mode === "table" ? ` console --table ${quoted(about.table ?? "TABLE")}` : " console --stack");
  switch (fault.status) {
    case 0:
      return { what: `No answer from ${location.origin}.`, then: (fault.detail ? fault.detail + ". " : "") + "Is it still running? This page tries again by itself. To start it:", line: start };
    case 401:
    case 403:
      return {
        what: "You may not read the heat.",
        then: (fault.detail ? fault.detail + " — " : "") + (about.mode === "table"
          ? "The credentials need the five read-only calls of the table's stream: DescribeTable, ListStreams, DescribeStream, GetShardIterator, GetRecords."
          : "The calls of operators need a grant (docs/deploy.md, “Who may call what”). Check which credentials the console was started with."),
      };
    case 404:
      return { what: "The server has no such call.", then: (fault.detail ? fault.detail + " — " : "") + "It may be older than this page: build both from one version." };
    case 429:
    case 503:
      return { what: "DynamoDB does not answer, or is out of capacity.", then: (fault.detail ? fault.detail + " — " : "") + "This page tries again by itself; writers do, too." };
  }
  return { what: `${fault.title || "The call failed"} (status ${fault.status}).`, then: fault.detail };
}
