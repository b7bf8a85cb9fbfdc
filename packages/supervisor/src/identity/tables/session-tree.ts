/** The child sessions that a session is or that were begun from it, of one principal unless `@principal` is null. */
export const SESSION_AND_BELOW = `
  WITH RECURSIVE below (session_id) AS (
    SELECT session_id FROM identity_children
      WHERE tenant = @tenant AND (session_id = @session OR parent = @session)
        AND (@principal IS NULL OR principal = @principal)
    UNION
    SELECT c.session_id FROM identity_children c JOIN below ON c.parent = below.session_id
      WHERE c.tenant = @tenant AND (@principal IS NULL OR c.principal = @principal)
  )`;
