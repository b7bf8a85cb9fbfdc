import { RPC_CONNECTION, rpcOperations } from "@reins/api";
import { expectAccepted } from "../connections/accepts.ts";
import { framed } from "../connections/frames.ts";
import { expectHeader } from "../connections/headers.ts";
import type { ServingDoor } from "../connections/serving.ts";
import { tellMessages } from "../connections/tell-messages.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { RpcSettings } from "./take-message.ts";

const frame = framed(
  (text, order) => `${order === undefined ? "" : `id: ${order}\n`}event: message\ndata: ${text}\n\n`,
);

/** ACP over HTTP: messages come by POST and are answered there, everything else goes out on one stream. */
export function rpcDialect(door: ServingDoor, settings: RpcSettings): Dialect {
  let code: typeof import("./take-message.ts") | undefined;
  return {
    name: "rpc",
    mount(place) {
      place.held(rpcOperations.postRpc, async (call) => {
        expectAccepted(call.request, "application/json");
        const serving = await door.open(call.harness);
        code ??= await import("./take-message.ts");
        return await code.takeMessage(call, serving, settings);
      });
      place.stream(rpcOperations.streamRpc, async (call, open) => {
        expectAccepted(call.request, "text/event-stream");
        const id = expectHeader(call.request, RPC_CONNECTION);
        const { connections } = await door.open(call.harness);
        const kept = await connections.find("rpc", id, call.principal);
        await tellMessages(call, open, { kept, session: undefined, continues: false, frame });
      });
      place.governed(rpcOperations.closeRpc, async (call) => {
        const id = expectHeader(call.request, RPC_CONNECTION);
        const { connections } = await door.open(call.harness);
        await connections.close("rpc", id, call.principal);
        return undefined;
      });
    },
  };
}
