import { expect, it } from 'vitest'
import { errorText, Refusal, toRefusal, unwrap } from './errors'

const broken = { code: '', details: null, hint: null, message: '' }

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

it('takes a 400 without code and message for no answer at all', () => {
  const error = thrownBy(() => unwrap({ data: null, error: broken, status: 400 }))
  expect(error).toBeInstanceOf(Refusal)
  expect(error).toMatchObject({ status: 503, code: 'try_again', speaks: false })
  expect(errorText(error, 'Failed to submit withdrawal request. Please try again.')).toBe(
    'Failed to submit withdrawal request. Please try again.',
  )
})

it.each([
  { ...broken, code: '23514' },
  { ...broken, message: 'Minimum withdrawal amount is $100' },
])('takes a 400 that says anything for an answer: %j', (error) => {
  expect(toRefusal(error, 400)).toMatchObject({ status: 400, code: error.code, speaks: true })
})

it('keeps other statuses without a word as they are', () => {
  expect(toRefusal(broken, 404)).toMatchObject({ status: 404, message: 'No answer arrived.' })
  expect(toRefusal(broken, 503)).toMatchObject({ status: 503, speaks: false })
})
