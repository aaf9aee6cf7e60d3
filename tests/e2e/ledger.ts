import { execFileSync } from 'node:child_process'
import { need } from './stack'

/**
 * Changes figures in the database, as no screen can make one wrong, and checks the ledger as the worker does, at once:
 * after a check that took long the next would wait.
 */
export function checkAfter(...changes: string[]): void {
  const check = ["update private.ledger_check_state set check_duration = '0'", 'select jobs.check_ledger()']
  const commands = [...changes, ...check].flatMap((statement) => ['--command', statement])
  execFileSync('psql', [need('DATABASE_ADMIN_URL'), '--quiet', '--output', '/dev/null', ...commands])
}
