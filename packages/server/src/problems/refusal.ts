import { type Problem, type ProblemCode, problem } from "@reins/api";

/** What goes along with a refusal. */
export interface RefusalOptions extends ErrorOptions {
  readonly errors?: Problem["errors"];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why a request is not answered as asked; whoever asked is told exactly this. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;

  constructor(told: Problem | ProblemCode, detail = "", options: RefusalOptions = {}) {
    const found = typeof told === "string" ? problem(told, detail, options.errors) : told;
    super(found.detail, options);
    this.problem = found;
    this.headers = options.headers ?? {};
  }
}
