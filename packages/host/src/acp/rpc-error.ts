export { CODE, RpcError } from "@reins/agent/acp";
