import { isObject, membersOf } from "../acp/message.ts";
import type { Rpc } from "../acp/rpc.ts";
import type { Permission, PermissionGate } from "../turn/permission-gate.ts";
import type { ShownCall } from "../turn/turn-event.ts";

const OPTIONS = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow_always", name: "Always allow this", kind: "allow_always" },
  { optionId: "reject_once", name: "Do not allow", kind: "reject_once" },
];

/** Asks by `session/request_permission`. What was allowed "always" is asked about again: remembering is not ours. */
export class AcpGate implements PermissionGate {
  readonly #rpc: Rpc;
  readonly #sessionId: string;

  constructor(rpc: Rpc, sessionId: string) {
    this.#rpc = rpc;
    this.#sessionId = sessionId;
  }

  async ask({ locations, content, ...call }: ShownCall, signal: AbortSignal): Promise<Permission> {
    const toolCall = {
      ...call,
      status: "pending",
      ...(locations.length > 0 && { locations: locations.map((path) => ({ path })) }),
      ...(content.length > 0 && { content }),
    };
    const params = { sessionId: this.#sessionId, toolCall, options: OPTIONS };
    const answer = await this.#rpc.request("session/request_permission", params, signal);
    signal.throwIfAborted();
    return permissionIn(answer);
  }
}

function permissionIn(answer: unknown): Permission {
  const { outcome, _meta } = membersOf(answer);
  const { outcome: kind, optionId } = membersOf(outcome);
  const { reason, modified_arguments } = membersOf(membersOf(_meta).reins);
  if (kind === "selected" && (optionId === "allow_once" || optionId === "allow_always"))
    return { kind: "given", ...(isObject(modified_arguments) && { modified: modified_arguments }) };
  if (typeof reason === "string" && reason !== "") return { kind: "refused", reason };
  return { kind: "refused", reason: kind === "selected" ? "a person said no" : "nobody allowed it" };
}
