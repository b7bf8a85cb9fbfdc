import { once } from "node:events";
import { type Clock, errorMessage } from "@reins/kit";
import { WebSocket } from "ws";
import type { Dial } from "../../client/stream-transport.ts";
import { AhpError } from "../../errors/ahp-error.ts";
import { asSubprotocol, type Credential, SUBPROTOCOL } from "../auth/credential.ts";
import { authHeaders } from "../auth/headers.ts";
import { keepAlive } from "./keep-alive.ts";

/** A harness behind a WebSocket. */
export interface WebSocketTarget {
  readonly url: string;
  readonly credential?: Credential | undefined;
  /** Where the credential goes; `query` is for upstream's servers only, because URLs end up in logs. */
  readonly credentialIn?: "header" | "subprotocol" | "query";
  /** Certificates to trust beside the system's, in PEM. */
  readonly ca?: string | Buffer | undefined;
}

const KEEP_ALIVE_MS = 30_000;
const CLOSE_PATIENCE_MS = 2_000;

/** Connects to a WebSocket; TLS if the URL says `wss`. */
export function dialWebSocket(
  target: WebSocketTarget,
  maxMessageBytes: number,
  timeoutMs: number,
  clock: Clock,
): Dial {
  const url = addressOf(target);
  return async (events) => {
    const { credential, credentialIn = "header", ca } = target;
    const headers = credential && credentialIn === "header" ? authHeaders(credential) : {};
    const protocols =
      credential && credentialIn === "subprotocol" ? [SUBPROTOCOL, asSubprotocol(credential)] : [];
    const webSocket = new WebSocket(url, protocols, {
      headers,
      maxPayload: maxMessageBytes,
      handshakeTimeout: timeoutMs,
      perMessageDeflate: false,
      ...(ca === undefined ? {} : { ca }),
    });
    try {
      await once(webSocket, "open");
    } catch (error) {
      throw new AhpError("transport", `WebSocket connection failed: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    webSocket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) events.message(data.toString());
    });
    webSocket.on("error", events.closed);
    webSocket.once("close", (code) => events.closed(new Error(`the WebSocket closed with code ${code}`)));
    keepAlive(webSocket, KEEP_ALIVE_MS, clock);
    return {
      send: (text) => webSocket.send(text),
      get buffered() {
        return webSocket.bufferedAmount;
      },
      close: () => close(webSocket, clock),
    };
  };
}

async function close(webSocket: WebSocket, clock: Clock): Promise<void> {
  if (webSocket.readyState === WebSocket.CLOSED) return;
  const closed = once(webSocket, "close");
  const callOff = clock.after(CLOSE_PATIENCE_MS, () => webSocket.terminate());
  webSocket.close(1000);
  await closed;
  callOff();
}

function addressOf({ url, credential, credentialIn }: WebSocketTarget): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !["ws:", "wss:"].includes(parsed.protocol)) {
    throw new AhpError("transport", `Invalid WebSocket URL: ${url} (expected ws:// or wss://)`, {
      retryable: false,
    });
  }
  if (credential && credentialIn === "query") {
    parsed.searchParams.append(credential.kind === "bearer" ? "token" : "api_key", credential.value);
  }
  return parsed;
}
