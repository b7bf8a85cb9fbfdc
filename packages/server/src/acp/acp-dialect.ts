import { ACP_CONNECTION, ACP_SESSION, acpOperations } from "@reins/api";
import { framed } from "../connections/frames.ts";
import { expectHeader, headerIn } from "../connections/headers.ts";
import type { ServingDoor } from "../connections/serving.ts";
import { tellMessages } from "../connections/tell-messages.ts";
import type { Dialect, Place } from "../dialect/dialect.ts";
import { governing } from "../dialect/governing.ts";
import { Refusal } from "../problems/refusal.ts";
import type { AcpSettings } from "./take-message.ts";
import type { WebSockets } from "./web-sockets.ts";

const PATH = "/acp";
const frame = framed((text, order) => `${order === undefined ? "" : `id: ${order}\n`}data: ${text}\n\n`);

/** ACP as its own draft has it: over HTTP with a stream for each session, and over WebSocket. */
export class AcpDialect implements Dialect {
  readonly name = "acp";
  readonly #door: ServingDoor;
  readonly #settings: AcpSettings;
  #webSockets: Promise<WebSockets> | undefined;

  constructor(door: ServingDoor, settings: AcpSettings) {
    this.#door = door;
    this.#settings = settings;
  }

  mount(place: Place): void {
    place.held(acpOperations.postAcp, async (call) => {
      const [serving, { takeMessage }] = await Promise.all([
        this.#door.open(call.harness),
        import("./take-message.ts"),
      ]);
      return takeMessage(call, serving, this.#settings);
    });
    place.stream(acpOperations.streamAcp, async (call, open) => {
      if (!call.request.headers.accept?.toLowerCase().includes("text/event-stream"))
        throw new Refusal("not_acceptable", "messages come as text/event-stream, or over a WebSocket");
      const id = expectHeader(call.request, ACP_CONNECTION);
      const session = headerIn(call.request, ACP_SESSION) ?? null;
      const { connections } = await this.#door.open(call.harness);
      const kept = await connections.find("acp", id, call.principal);
      await tellMessages(call, open, { kept, session, continues: true, frame });
    });
    place.held(acpOperations.closeAcp, async (call) => {
      const id = expectHeader(call.request, ACP_CONNECTION);
      const { connections } = await this.#door.open(call.harness);
      if (await connections.close("acp", id, call.principal)) return { status: 202 };
      throw new Refusal("not_found", "the connection is not known, was ended or has expired");
    });
    place.upgrade(PATH, async (request, socket, head, caller) => {
      const { harness } = this.#settings;
      const { principal, harness: opened } = await governing(harness, caller.id);
      const serving = await this.#door.open(opened);
      this.#webSockets ??= this.#load();
      const webSockets = await this.#webSockets;
      webSockets.take({ request, socket, head }, { principal, serving, identity: opened.identity });
    });
  }

  async close(): Promise<void> {
    await (await this.#webSockets)?.close();
  }

  async #load(): Promise<WebSockets> {
    const { WebSockets: Made } = await import("./web-sockets.ts");
    return new Made(this.#settings);
  }
}
