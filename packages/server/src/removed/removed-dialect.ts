import type { Dialect } from "../dialect/dialect.ts";
import { Refusal } from "../problems/refusal.ts";

/** What an earlier API had under `/v1`. These paths are not used again. */
const REMOVED: readonly (readonly [method: "GET" | "POST", path: string])[] = [
  ["POST", "/v1/sessions/:id"],
  ["POST", "/v1/sessions/:id/messages"],
  ["POST", "/v1/sessions/:id/messages/stream"],
  ["POST", "/v1/sessions/:id/terminate"],
  ["GET", "/v1/sessions/:id/events"],
  ["GET", "/v1/sessions/:id/events/sse"],
  ["POST", "/v1/sessions/:id/permissions/:permission/reply"],
  ["POST", "/v1/sessions/:id/questions/:question/reply"],
  ["POST", "/v1/sessions/:id/questions/:question/reject"],
  ["GET", "/v1/agents/:agent/models"],
  ["GET", "/v1/agents/:agent/modes"],
];

/** Tells whoever comes with an earlier API that it is gone, or with one that is to come that it is not there yet. */
export const removedDialect: Dialect = {
  name: "removed",
  mount(place) {
    const gone = () => new Refusal("gone", "v1 API removed; use /v1");
    for (const [method, path] of REMOVED) place.refuse(path, method, gone);
    const later = () => new Refusal("not_implemented", "OpenCode's API is not served yet");
    for (const path of ["/opencode", "/opencode/*"]) place.refuse(path, undefined, later);
  },
};
