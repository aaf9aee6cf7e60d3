import { expect, test } from 'vitest'
import { codeIn } from './referral-link'

test.each([
  ['mara_l', 'mara_l'],
  [' mara_l ', 'mara_l'],
  ['@mara_l', 'mara_l'],
  ['https://harborline.example/sign-up?ref=mara_l', 'mara_l'],
  ['harborline.example/sign-up?ref=mara_l', 'mara_l'],
  ['https://harborline.example/sign-up?lang=en&ref=mara_l#form', 'mara_l'],
  ['https://harborline.example/sign-up?ref=%20mara_l', 'mara_l'],
  ['?ref=mara_l', 'mara_l'],
  ['https://harborline.example/sign-up', 'https://harborline.example/sign-up'],
  ['https://harborline.example/sign-up?ref=', 'https://harborline.example/sign-up?ref='],
  ['who?', 'who?'],
  ['', ''],
])('in %j the code is %j', (typed, code) => {
  expect(codeIn(typed)).toBe(code)
})
