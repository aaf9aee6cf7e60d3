-- A member's page of bonuses was read as two heaps of all of the member's bonuses, earned and caused, and sorted: the
-- planner took "mine or from me" together with the filter "mine" for a single row, so a hub read twenty thousand rows
-- for a hundred. Who caused a bonus is now asked as a range of one id, which the planner takes for more than a
-- few rows: a page is read along its index, and everything that a member may see is still found by two indexes.

alter policy select_own on public.bonuses using (
    user_id = (select auth.uid()) or source_user_id between (select auth.uid()) and (select auth.uid())
);
