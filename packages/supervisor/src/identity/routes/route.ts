import { problemOf } from "../../errors.ts";
import { expectAdmin } from "../authority.ts";
import { ADMIN, type Principal } from "../principal.ts";

/** A request that a router has read: who asks, what the path and the query name, and the parsed body. */
export interface IdentityRequest {
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

/** What to answer. From 400 on the body is a `Problem`, to be sent as `application/problem+json`. */
export interface IdentityAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** One thing that can be asked over HTTP. */
export interface IdentityRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** A segment that begins with a colon names a member of `params`. */
  readonly path: string;
  readonly role: typeof ADMIN;
  /** Answers. Refuses whoever lacks the role by itself, and rejects only for a fault of ours. */
  handle(request: IdentityRequest): Promise<IdentityAnswer>;
}

/** A route for admins alone. */
export function adminRoute(
  method: IdentityRoute["method"],
  path: string,
  answer: (request: IdentityRequest) => Promise<IdentityAnswer>,
): IdentityRoute {
  const handle = async (request: IdentityRequest): Promise<IdentityAnswer> => {
    try {
      expectAdmin(request.principal);
      return await answer(request);
    } catch (error) {
      const body = problemOf(error);
      return { status: body.status, body };
    }
  };
  return { method, path: `/v1/identity${path}`, role: ADMIN, handle };
}
