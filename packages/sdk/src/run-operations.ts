// Loaded when the ledger or runs are used, or a session goes back: their schemas are large.
export { graphOperations, ledgerOperations, rewindOperations, runOperations } from "@reins/api";
