export { classify, isObject, type JsonObject, membersOf, type RequestId } from "@reins/agent/acp";
