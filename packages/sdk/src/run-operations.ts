// Loaded when runs are used: their schemas are large.
export { graphOperations, runOperations } from "@reins/api";
