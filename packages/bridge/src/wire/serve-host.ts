import { type Channel, CODE, type JsonObject, Peer, RpcError } from "@reins/acp";

/** Answers one request of an agent. */
type Answer = (params: JsonObject, signal: AbortSignal) => unknown;

/** What a host offers to the agent at the other end of a channel; a method that is absent is answered as unknown. */
export type HostOffer = Readonly<Record<string, Answer>>;

/** What is done with the notifications of the agent. */
export type HostListener = (method: string, params: JsonObject) => void;

/**
 * The host's end of the bridge over any channel: ACP, or plain lines below it. Requests are answered concurrently, by
 * string and number ids alike; the end of the channel aborts what is being answered and fails what waits.
 */
export function serveHost(
  channel: Channel,
  offer: HostOffer,
  listener: HostListener = () => undefined,
): Peer {
  return new Peer(channel, {
    async request(method, params, { signal }) {
      const answer = Object.hasOwn(offer, method) ? offer[method] : undefined;
      if (!answer) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
      return answer(params, signal);
    },
    notification: listener,
  });
}
