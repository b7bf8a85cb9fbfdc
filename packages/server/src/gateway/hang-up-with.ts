import type { Duplex } from "node:stream";
import { hangUp } from "@reins/ahp";
import { PROBLEM_TYPE } from "@reins/api";
import type { Refusal } from "../problems/refusal.ts";
import { PROTECTION } from "./protection.ts";

/** Tells a refusal over a connection that no answer owns, and hangs up. */
export function hangUpWith(socket: Duplex, { problem, headers }: Refusal): void {
  if (!socket.writable) return;
  const body = JSON.stringify(problem);
  hangUp(socket, problem.status, { type: PROBLEM_TYPE, body }, { ...PROTECTION, ...headers });
}
