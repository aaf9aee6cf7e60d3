-- Ticks of the trading school's checklists are kept beside the marks of its lessons.
COMMENT ON TABLE "public"."lesson_progress" IS 'Lessons that a member marked as done, and checklist items ticked. Unmarking deletes the row.';
