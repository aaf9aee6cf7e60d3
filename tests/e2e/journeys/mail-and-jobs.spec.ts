import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { expect, test } from '@playwright/test'
import { administratorBrowser } from '../people'
import { need } from '../stack'

test('a mail that was given up is seen and sent again', async ({ browser }) => {
  const recipient = `late-${randomBytes(4).toString('hex')}@example.com`
  // No screen can make a mail server reject an email: insert what the worker writes then.
  const planted = `insert into private.outbox (template, recipient, data, attempts, failed_at, last_error)
    values ('test_mail', '${recipient}', '{"title": "Late", "body": "Here after all."}', 12, now(), 'refused')`
  execFileSync('psql', [need('DATABASE_ADMIN_URL'), '--quiet', '--command', planted])

  const context = await administratorBrowser(browser, {})
  const page = await context.newPage()
  await page.goto('/admin/readiness')
  const jobs = page.getByRole('region', { name: 'Email and jobs' })
  const mail = jobs.getByRole('listitem').filter({ hasText: recipient })
  await expect(mail.getByText(`Test mail to ${recipient}`)).toBeVisible()
  await expect(mail.getByText(/^12 attempts, the last /)).toBeVisible()
  await expect(mail.getByText('refused')).toBeVisible()
  await mail.getByRole('button', { name: `Send again to ${recipient}` }).click()
  await expect(page.getByText('Email queued again')).toBeVisible()
  await expect(mail).toHaveCount(0)
  await context.close()
})
