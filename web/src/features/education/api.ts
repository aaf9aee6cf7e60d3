import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { unwrap } from '@/lib/errors'
import { memberKey } from '@/lib/member'
import { memberClient } from '@/lib/supabase'
import { toasts } from '@/lib/toast-queue'

/** Which lessons this member marked as done and what was ticked, in the order of marking. */
export const lessonsDoneQuery = queryOptions({
  queryKey: [memberKey, 'lessons-done'],
  queryFn: async () => {
    const client = await memberClient()
    const rows = unwrap(await client.from('lesson_progress').select('lesson_id').order('done_at'))
    return rows.map((row) => row.lesson_id)
  },
})

interface Mark {
  userId: string
  lesson: string
  done: boolean
}

async function putMark({ userId, lesson, done }: Mark): Promise<void> {
  const table = (await memberClient()).from('lesson_progress')
  const row = { user_id: userId, lesson_id: lesson }
  const answer = done
    ? await table.upsert(row, { onConflict: 'user_id,lesson_id', ignoreDuplicates: true })
    : await table.delete().match(row)
  if (answer.error) unwrap(answer)
}

/** Marks a lesson or ticks an item of a checklist, or takes that back; shown at once, undone when the server refuses. */
export function useMarkLesson() {
  const queries = useQueryClient()
  const { queryKey } = lessonsDoneQuery
  const show = (lesson: string, done: boolean) =>
    queries.setQueryData(queryKey, (marked = []) => {
      const others = marked.filter((other) => other !== lesson)
      return done ? [...others, lesson] : others
    })
  return useMutation({
    mutationFn: putMark,
    onMutate: async ({ lesson, done }) => {
      await queries.cancelQueries({ queryKey })
      show(lesson, done)
    },
    onError: (_error, { lesson, done }) => {
      show(lesson, !done)
      toasts.error('The mark was not saved. Please try again.')
    },
    onSettled: () => void queries.invalidateQueries({ queryKey }),
  })
}
