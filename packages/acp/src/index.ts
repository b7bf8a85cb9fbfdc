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
export { metaOf, type ReinsMeta, reinsData, reinsMeta, SANDBOX, sandboxMeta, withReinsMeta } from "./meta.ts";
export { CANCEL_REQUEST, Peer, type PeerHandlers, type RequestCall } from "./peer.ts";
export {
  type AcpContent,
  type AcpMethod,
  type AcpToolCall,
  chunkText,
  type ParamsOf,
  type ResultOf,
  readContent,
  readParams,
  readResult,
  readUpdate,
  type SessionUpdate,
  toolCallIn,
  type UpdateKind,
  type UpdateOf,
  updateIn,
  usageIn,
} from "./schemas.ts";
export { stdioChannel } from "./stdio-channel.ts";
