import { expect, it } from 'vitest'
import { toRefusal } from '@/lib/errors'
import { queryClient } from './query-client'

it('reads again what broke off or came at a busy moment, and does not read again what was refused', () => {
  const retry = queryClient.getDefaultOptions().queries?.retry as (failures: number, error: Error) => boolean
  const broken = { code: '', details: null, hint: null, message: '' }
  expect(retry(0, toRefusal(broken, 400))).toBe(true)
  expect(retry(3, toRefusal(broken, 400))).toBe(false)
  expect(retry(0, toRefusal({ ...broken, code: 'too_many_requests' }, 429))).toBe(true)
  expect(retry(0, toRefusal({ ...broken, code: '22P02' }, 400))).toBe(false)
})
