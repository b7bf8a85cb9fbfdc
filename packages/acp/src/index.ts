export { type Channel, channelPair } from "./channel.ts";
export { interruptedBy } from "./interrupted.ts";
export {
  CODE,
  classify,
  isObject,
  type JsonObject,
  membersOf,
  parseObject,
  type RequestId,
  RpcError,
} from "./json-rpc.ts";
export { Peer, type PeerHandlers, type RequestCall } from "./peer.ts";
export { usageIn } from "./usage.ts";
