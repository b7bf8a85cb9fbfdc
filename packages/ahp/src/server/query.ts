import { layered } from "../errors/ahp-error.ts";
import { QueryRequest, QueryResponse } from "../protocol/methods.ts";
import { NOT_SUPPORTED } from "./defaults.ts";
import { type Exchange, failure } from "./exchange.ts";

/** Answers a question of the agent. */
export async function answerQuery(exchange: Exchange, params: unknown): Promise<string> {
  const request = exchange.params(QueryRequest, params);
  const session = exchange.session(request);
  const { handlers } = exchange;
  if (!handlers.query) throw failure(layered("unsupported", NOT_SUPPORTED["ahp/query"]), "not_supported");
  const deadline = exchange.deadline();
  return exchange.result(QueryResponse, deadline, () =>
    handlers.query?.(request, exchange.call(session, deadline)),
  );
}
