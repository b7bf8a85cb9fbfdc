export type { ExportSource } from "./export/read.ts";
export { verifyExport, verifyFile } from "./export/verify-export.ts";
export type { Progress, VerifyOptions } from "./note.ts";
export { type ConsistencyClaim, verifyConsistency, verifyProof } from "./proof/verify-proof.ts";
export {
  type Fault,
  type FaultCode,
  formatReport,
  type Report,
  type SeenResult,
  VerifyError,
  type VerifyErrorCode,
} from "./report.ts";
