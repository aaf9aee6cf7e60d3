import { expect, test } from '@playwright/test'
import { createMember, openAs } from '../people'

test('a lesson marked as done is done on another device too, until the mark is taken back', async ({
  browser,
}) => {
  const person = await createMember('lena')
  const page = await openAs(browser, person)
  await page.goto('/education')
  const lesson = page.getByRole('button', {
    name: 'Mark as done: Reading a chart',
  })
  await expect(lesson).toHaveAttribute('aria-pressed', 'false')
  const stored = page.waitForResponse((response) => response.url().includes('/lesson_progress'))
  await lesson.click()
  await expect(lesson).toHaveAttribute('aria-pressed', 'true')
  expect((await stored).ok()).toBe(true)
  await expect(page.getByText('1 of 4 lessons done')).toBeVisible()
  await page.context().close()

  const elsewhere = await openAs(browser, person)
  await elsewhere.goto('/education')
  const again = elsewhere.getByRole('button', {
    name: 'Mark as done: Reading a chart',
  })
  await expect(again).toHaveAttribute('aria-pressed', 'true')
  const taken = elsewhere.waitForResponse((response) => response.url().includes('/lesson_progress'))
  await again.click()
  expect((await taken).ok()).toBe(true)
  await elsewhere.reload()
  await expect(again).toHaveAttribute('aria-pressed', 'false')

  await elsewhere.route('**/lesson_progress*', (route) =>
    route.request().method() === 'GET' ? route.continue() : route.abort(),
  )
  await again.click()
  await expect(elsewhere.getByText('The mark was not saved. Please try again.').first()).toBeVisible()
  await expect(again).toHaveAttribute('aria-pressed', 'false')
  await elsewhere.context().close()
})

test('a checklist begins without a tick, and what is ticked stays', async ({ browser }) => {
  const person = await createMember('lena')
  const page = await openAs(browser, person)
  await page.goto('/education')
  const ticks = page.getByRole('checkbox')
  await expect(ticks).toHaveCount(12)
  for (const level of ['Beginner', 'Intermediate', 'Advanced']) {
    const list = page.getByRole('region', {
      name: `Checklist before a trade, ${level}`,
    })
    await expect(list.getByText('0 of 4 ticked')).toBeVisible()
  }
  await expect(page.getByRole('checkbox', { checked: true })).toHaveCount(0)

  const stored = page.waitForResponse((response) => response.url().includes('/lesson_progress'))
  await page.getByText('My stop is set.').click()
  expect((await stored).ok()).toBe(true)
  await page.reload()
  await expect(page.getByRole('checkbox', { name: 'My stop is set.' })).toBeChecked()
  await expect(page.getByRole('checkbox', { checked: true })).toHaveCount(1)
  const intermediate = page.getByRole('region', {
    name: 'Checklist before a trade, Intermediate',
  })
  await expect(intermediate.getByText('1 of 4 ticked')).toBeVisible()
  await expect(page.getByText(/^\d+%, demo progress\. Yours: 0 of 4 lessons\.$/)).toHaveCount(3)

  const taken = page.waitForResponse((response) => response.url().includes('/lesson_progress'))
  await page.getByRole('checkbox', { name: 'My stop is set.' }).click()
  expect((await taken).ok()).toBe(true)
  await page.reload()
  await expect(page.getByRole('checkbox', { checked: true })).toHaveCount(0)
  await page.context().close()
})
