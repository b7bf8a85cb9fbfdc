import { z } from "zod";
import type { ProblemCode } from "./problem.ts";

// Apart from the operations that use them: a client in a browser needs the names alone.

/** The header that names a connection of `/v1/rpc`. */
export const RPC_CONNECTION = "X-ACP-Connection-Id";
/** The headers that name a connection of `/acp`, and a session of it. */
export const ACP_CONNECTION = "Acp-Connection-Id";
export const ACP_SESSION = "Acp-Session-Id";

/**
 * Who may call an operation. A person is a user or a service, never an agent; `server` are admins of the default tenant,
 * for what all tenants share.
 */
export type Audience = "anyone" | "principal" | "person" | "admin" | "server";

/** One HTTP operation: request, response and audience. */
export interface Operation<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> {
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Members of `params` are in braces. */
  readonly path: `/${string}`;
  readonly summary: string;
  readonly audience: Audience;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The headers that it uses, for its description; the handler reads them. */
  readonly headers?: z.ZodObject;
  readonly status: 200 | 201 | 202 | 204;
  /** Another status that it may respond with, and the response then. */
  readonly also?: { readonly status: 200 | 202 | 206 | 503; readonly answer: z.ZodType };
  /** The response or, for a stream, the content of each event. */
  readonly answer: Answer;
  /** The name of the events, where the answer is a stream of server-sent events. */
  readonly events?: string;
  /** The whole as one JSON answer, for a client that accepts no stream. */
  readonly json?: z.ZodType;
  /** The media type of the answer, where it is of another kind than JSON. */
  readonly media?: string;
  /** The media type of the body, where it is bytes that are streamed; it has no schema then. */
  readonly takes?: string;
  /**
   * Which of several nodes answers: `any`; the one of the default tenant, which has the `logins`; by default the one that
   * serves the tenant of the caller.
   */
  readonly node?: "any" | "logins";
  /** Problems beside those of any request. */
  readonly problems: readonly ProblemCode[];
}

/** The schema of an absent body or response. */
export const Nothing = z.undefined();
/** The schema of an object without members. */
export const NoMembers = z.strictObject({});

type Described<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType> = Pick<
  Operation,
  "id" | "method" | "path" | "summary" | "audience"
> &
  Partial<
    Pick<
      Operation,
      "status" | "also" | "events" | "json" | "media" | "takes" | "problems" | "headers" | "node"
    >
  > & {
    readonly params?: P;
    readonly query?: Q;
    readonly body?: B;
    readonly answer?: A;
  };

/** Defines an operation; parts that are left out are empty. */
export function operation<
  Params extends z.ZodType = typeof NoMembers,
  Query extends z.ZodType = typeof NoMembers,
  Body extends z.ZodType = typeof Nothing,
  Answer extends z.ZodType = typeof Nothing,
>(described: Described<Params, Query, Body, Answer>): Operation<Params, Query, Body, Answer>;
export function operation(described: Described<z.ZodType, z.ZodType, z.ZodType, z.ZodType>): Operation {
  const { params = NoMembers, query = NoMembers, body = Nothing, answer = Nothing } = described;
  const { status = answer === Nothing ? 204 : 200, problems = [] } = described;
  return { ...described, params, query, body, answer, status, problems };
}
