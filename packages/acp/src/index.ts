export { type Channel, channelPair } from "./channel.ts";
export {
  CODE,
  classify,
  interruptedBy,
  isObject,
  type JsonObject,
  membersOf,
  parseObject,
  type RequestId,
  RpcError,
} from "./json-rpc.ts";
export { CANCEL_REQUEST, Peer, type PeerHandlers, type RequestCall } from "./peer.ts";
export { stdioChannel } from "./stdio-channel.ts";
export { usageIn } from "./usage.ts";
