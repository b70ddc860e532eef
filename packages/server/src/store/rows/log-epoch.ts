/** Epochs of match logs as rows. */

/** SQL: the epoch of a match, as a column; NULL in the first one of its log. Both arguments are SQL. */
export function epochOf(appId: string, seq: string): string {
  return `(SELECT epoch FROM log_epochs WHERE log_epochs.app_id = ${appId} AND from_seq <= ${seq}
    ORDER BY from_seq DESC LIMIT 1) AS "epoch"`
}
