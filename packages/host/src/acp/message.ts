export { isObject, type JsonObject, membersOf, type RequestId, sort } from "@reins/agent/acp";
