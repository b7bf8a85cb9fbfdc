// Loaded when agents are listed or installed: their schemas are large.
export { agentsOperations } from "@reins/api";
