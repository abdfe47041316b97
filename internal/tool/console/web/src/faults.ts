import { Problem } from "./api";
import { command, h } from "./dom";
import { visible } from "./text";
import type { About } from "./types";

/** Remedy says what failed, and what the user can do. */
interface Remedy {
  what: string;
  then: string;
  line?: string; // a command
}

function remedy(fault: unknown, about: About): Remedy {
  if (!(fault instanceof Problem)) return { what: "The page's script failed.", then: `${fault}. Reload the page.` };
  const detail = fault.detail ? fault.detail.replace(/[.]?$/, ". ") : "";
  switch (fault.status) {
    case 0:
      return { what: `Disconnected from ${location.origin}.`, then: `${detail}The page retries by itself. If the server has stopped, restart it:`, line: about.start };
    case 401:
    case 403:
      return {
        what: "Access denied.",
        then: detail + (about.mode === "table"
          ? "The credentials need four read-only calls: DescribeTable, and DescribeStream, GetShardIterator and GetRecords on its stream. Grant them, then restart:"
          : "Operators' calls need a grant (docs/deploy.md, “Who may call what”). Check the credentials of the command that started this console:"),
        line: about.start,
      };
    case 404:
      return { what: "The server doesn't know this call.", then: `${detail}The server may have another version than this page. Reload the page, or restart the server:`, line: about.start };
    case 429:
    case 503:
      return { what: "DynamoDB does not answer or throttles.", then: `${detail}The page retries by itself.` };
  }
  return { what: `${fault.title || "The call failed"} (status ${fault.status}).`, then: fault.detail };
}

/** faultNotice returns a notice about a failure, with the command that helps. */
export function faultNotice(fault: unknown, about: About): HTMLElement {
  const { what, then, line } = remedy(fault, about);
  return h("div", { class: "notice fault", role: "alert" }, h("p", {}, h("strong", {}, visible(what)), " ", visible(then)), line ? command(line) : null);
}
