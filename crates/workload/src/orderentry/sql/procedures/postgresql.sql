-- The five transactions for PostgreSQL 14.
CREATE PROCEDURE oe_new_order(p_w int, p_d int, p_c int, p_count int, p_unused int, p_lines text,
  INOUT v_order int, INOUT v_total numeric, INOUT v_rolled_back int)
LANGUAGE plpgsql AS $body$
DECLARE
  v_w_tax numeric; v_d_tax numeric; v_discount numeric; v_price numeric; v_sum numeric := 0;
  v_last text; v_credit text; v_name text; v_item_data text; v_stock_data text; v_text text;
  v_local int := 1; v_missing boolean := false;
  v_number int; v_supply int; v_item int; v_quantity int; v_stock int;
BEGIN
  FOR k IN 0..p_count - 1 LOOP
    IF substr(p_lines, k * 18 + 3, 8)::int <> p_w THEN v_local := 0; END IF;
  END LOOP;
  SELECT w_tax INTO STRICT v_w_tax FROM warehouse WHERE w_id = p_w;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
    RETURNING d_tax, d_next_o_id - 1 INTO STRICT v_d_tax, v_order;
  SELECT c_discount, c_last, c_credit INTO STRICT v_discount, v_last, v_credit FROM customer
    WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (p_w, p_d, v_order, p_c, CURRENT_TIMESTAMP, NULL, p_count, v_local);
  INSERT INTO new_orders (no_w_id, no_d_id, no_o_id) VALUES (p_w, p_d, v_order);
  FOR k IN 0..p_count - 1 LOOP
    v_number := substr(p_lines, k * 18 + 1, 2)::int;
    v_supply := substr(p_lines, k * 18 + 3, 8)::int;
    v_item := substr(p_lines, k * 18 + 11, 6)::int;
    v_quantity := substr(p_lines, k * 18 + 17, 2)::int;
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_item_data FROM item WHERE i_id = v_item;
    IF NOT FOUND THEN
      v_missing := true;
      EXIT;
    END IF;
    SELECT s_quantity, s_data, {district_text} INTO STRICT v_stock, v_stock_data, v_text
      FROM stock WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
    v_stock := CASE WHEN v_stock - v_quantity >= 10 THEN v_stock - v_quantity ELSE v_stock - v_quantity + 91 END;
    UPDATE stock SET s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + CASE WHEN v_supply = p_w THEN 0 ELSE 1 END WHERE s_w_id = v_supply AND s_i_id = v_item;
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      VALUES (p_w, p_d, v_order, v_number, v_item, v_supply, NULL, v_quantity, v_quantity * v_price, v_text);
    v_sum := v_sum + v_quantity * v_price;
  END LOOP;
  IF v_missing <> (p_unused <> 0) THEN
    RAISE EXCEPTION 'oe_new_order: an item is missing, or the unused item exists';
  END IF;
  v_total := round(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2);
  v_rolled_back := v_missing::int;
  IF v_missing THEN
    ROLLBACK;
  END IF;
END
$body$
CREATE FUNCTION oe_payment(p_w int, p_d int, p_c_w int, p_c_d int, p_c int, p_last text, p_amount numeric,
  OUT v_customer int, OUT v_balance numeric)
LANGUAGE plpgsql AS $body$
DECLARE
  v_w_name text; v_d_name text; v_credit text; v_data text;
BEGIN
  UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w RETURNING w_name INTO STRICT v_w_name;
  UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d RETURNING d_name INTO STRICT v_d_name;
  v_customer := p_c;
  IF p_c = 0 THEN
    SELECT c_id INTO STRICT v_customer FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last
      ORDER BY c_first, c_id LIMIT 1
      OFFSET (SELECT greatest((count(*) + 1) / 2 - 1, 0) FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last);
  END IF;
  SELECT c_credit INTO STRICT v_credit FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_customer FOR UPDATE;
  IF v_credit = 'BC' THEN
    UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1,
      c_data = substr(concat_ws(' ', v_customer, p_c_d, p_c_w, p_d, p_w, p_amount, c_data), 1, 500)
      WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_customer RETURNING c_balance INTO STRICT v_balance;
  ELSE
    UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1
      WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_customer RETURNING c_balance INTO STRICT v_balance;
  END IF;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (v_customer, p_c_d, p_c_w, p_d, p_w, CURRENT_TIMESTAMP, p_amount, v_w_name || '    ' || v_d_name);
END
$body$
CREATE FUNCTION oe_order_status(p_w int, p_d int, p_c int, p_last text)
RETURNS TABLE (v_order int, v_item int, v_amount numeric, v_supply int, v_quantity int, v_delivered timestamp, v_balance numeric)
LANGUAGE plpgsql STABLE AS $body$
DECLARE
  v_customer int := p_c; v_last_order int; v_customer_balance numeric;
BEGIN
  IF p_c = 0 THEN
    SELECT c_id INTO STRICT v_customer FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
      ORDER BY c_first, c_id LIMIT 1
      OFFSET (SELECT greatest((count(*) + 1) / 2 - 1, 0) FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last);
  END IF;
  SELECT c_balance INTO STRICT v_customer_balance FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_customer;
  SELECT o_id INTO STRICT v_last_order FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_customer ORDER BY o_id DESC LIMIT 1;
  RETURN QUERY SELECT v_last_order, ol_i_id, ol_amount, ol_supply_w_id, ol_quantity::int, ol_delivery_d, v_customer_balance FROM order_line
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_last_order;
END
$body$
CREATE FUNCTION oe_delivery(p_w int, p_carrier int, p_at timestamp, OUT v_delivered int, OUT v_skipped int)
LANGUAGE plpgsql AS $body$
DECLARE
  v_order int; v_customer int; v_sum numeric;
BEGIN
  v_delivered := 0;
  v_skipped := 0;
  FOR d IN 1..10 LOOP
    SELECT no_o_id INTO v_order FROM new_orders WHERE no_w_id = p_w AND no_d_id = d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN
      v_skipped := v_skipped + 1;
      CONTINUE;
    END IF;
    DELETE FROM new_orders WHERE no_w_id = p_w AND no_d_id = d AND no_o_id = v_order;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'oe_delivery: another delivery was faster' USING ERRCODE = '40001';
    END IF;
    UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = d AND o_id = v_order RETURNING o_c_id INTO STRICT v_customer;
    UPDATE order_line SET ol_delivery_d = p_at WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = v_order;
    SELECT sum(ol_amount) INTO v_sum FROM order_line WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = v_order;
    UPDATE customer SET c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
      WHERE c_w_id = p_w AND c_d_id = d AND c_id = v_customer;
    v_delivered := v_delivered + 1;
  END LOOP;
END
$body$
CREATE FUNCTION oe_stock_level(p_w int, p_d int, p_threshold int, OUT v_low bigint)
LANGUAGE plpgsql STABLE AS $body$
DECLARE
  v_next int;
BEGIN
  SELECT d_next_o_id INTO STRICT v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
  SELECT count(DISTINCT s_i_id) INTO v_low FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next AND s_quantity < p_threshold;
END
$body$
