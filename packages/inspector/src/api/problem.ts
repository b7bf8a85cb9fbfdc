import { PROBLEM_TYPE } from "@reins/api";

/** What the server could not do, as it says it: `title` is what happened, `detail` what to do. */
export class ProblemError extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string | undefined;

  constructor(status: number, body: { code?: unknown; title?: unknown; detail?: unknown }) {
    const title = typeof body.title === "string" ? body.title : `The server answered ${status}.`;
    const detail = typeof body.detail === "string" ? body.detail : undefined;
    super(detail === undefined ? title : `${title}: ${detail}`);
    this.name = "ProblemError";
    this.status = status;
    this.code = typeof body.code === "string" ? body.code : "unknown";
    this.title = title;
    this.detail = detail;
  }
}

/** The problem that a response tells of. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const type = response.headers.get("content-type") ?? "";
  const body = type.startsWith(PROBLEM_TYPE) ? await response.json() : {};
  return new ProblemError(response.status, body);
}
