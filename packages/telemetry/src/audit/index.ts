export { AuditExport, ContinuousExport, CursorError } from "./audit-export.ts";
export { CursorFile, type ExportState } from "./cursor-file.ts";
export {
  type AuditDestination,
  DeliveryError,
  fileDestination,
  streamDestination,
  webhookDestination,
} from "./destinations.ts";
export {
  AUDIT_FORMATS,
  type AuditCursor,
  type AuditFormat,
  AuditRecords,
  FIRST,
  isCursorOf,
  readCursor,
} from "./records.ts";
