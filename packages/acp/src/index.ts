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
  type Content,
  chunkText,
  type Method,
  type Params,
  type Result,
  readContent,
  readParams,
  readResult,
  readToolCall,
  readUpdate,
  type SessionUpdate,
  type ToolCall,
  type Update,
  type UpdateKind,
  updateIn,
  usageIn,
} from "./schemas.ts";
export { stdioChannel } from "./stdio-channel.ts";
