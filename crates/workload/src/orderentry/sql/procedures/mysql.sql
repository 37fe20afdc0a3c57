-- The five transactions for MariaDB 10.6 and MySQL 8.
CREATE PROCEDURE oe_new_order(p_w INT, p_d INT, p_c INT, p_count INT, p_unused INT, p_lines VARCHAR(400))
BEGIN
  DECLARE v_w_tax, v_d_tax, v_discount DECIMAL(4,4);
  DECLARE v_order, v_local, v_k, v_number, v_supply, v_item, v_quantity, v_stock INT;
  DECLARE v_price DECIMAL(5,2);
  DECLARE v_sum DECIMAL(12,2) DEFAULT 0;
  DECLARE v_last VARCHAR(16);
  DECLARE v_credit CHAR(2);
  DECLARE v_name VARCHAR(24);
  DECLARE v_item_data, v_stock_data VARCHAR(50);
  DECLARE v_text CHAR(24);
  DECLARE v_missing INT DEFAULT 0;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_missing = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  SET v_local = 1, v_k = 0;
  WHILE v_k < p_count DO
    IF CAST(SUBSTR(p_lines, v_k * 18 + 3, 8) AS UNSIGNED) <> p_w THEN SET v_local = 0; END IF;
    SET v_k = v_k + 1;
  END WHILE;
  START TRANSACTION;
  SELECT w_tax INTO v_w_tax FROM warehouse WHERE w_id = p_w;
  SELECT d_tax, d_next_o_id INTO v_d_tax, v_order FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d;
  SELECT c_discount, c_last, c_credit INTO v_discount, v_last, v_credit FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  IF v_missing THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'oe_new_order: no such warehouse, district or customer'; END IF;
  INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (p_w, p_d, v_order, p_c, CURRENT_TIMESTAMP, NULL, p_count, v_local);
  INSERT INTO new_orders (no_w_id, no_d_id, no_o_id) VALUES (p_w, p_d, v_order);
  SET v_k = 0;
  WHILE v_k < p_count AND NOT v_missing DO
    SET v_number = CAST(SUBSTR(p_lines, v_k * 18 + 1, 2) AS UNSIGNED),
        v_supply = CAST(SUBSTR(p_lines, v_k * 18 + 3, 8) AS UNSIGNED),
        v_item = CAST(SUBSTR(p_lines, v_k * 18 + 11, 6) AS UNSIGNED),
        v_quantity = CAST(SUBSTR(p_lines, v_k * 18 + 17, 2) AS UNSIGNED);
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_item_data FROM item WHERE i_id = v_item;
    IF NOT v_missing THEN
      SELECT s_quantity, s_data, {district_text} INTO v_stock, v_stock_data, v_text
        FROM stock WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
      SET v_stock = IF(v_stock - v_quantity >= 10, v_stock - v_quantity, v_stock - v_quantity + 91);
      UPDATE stock SET s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + IF(v_supply = p_w, 0, 1) WHERE s_w_id = v_supply AND s_i_id = v_item;
      INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        VALUES (p_w, p_d, v_order, v_number, v_item, v_supply, NULL, v_quantity, v_quantity * v_price, v_text);
      SET v_sum = v_sum + v_quantity * v_price;
    END IF;
    SET v_k = v_k + 1;
  END WHILE;
  IF v_missing <> p_unused THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'oe_new_order: an item is missing, or the unused item exists'; END IF;
  IF v_missing THEN ROLLBACK; ELSE COMMIT; END IF;
  SELECT v_order, ROUND(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2), v_missing;
END
CREATE PROCEDURE oe_payment(p_w INT, p_d INT, p_c_w INT, p_c_d INT, p_c INT, p_last VARCHAR(16), p_amount DECIMAL(6,2))
BEGIN
  DECLARE v_w_name, v_d_name VARCHAR(10);
  DECLARE v_credit CHAR(2);
  DECLARE v_balance DECIMAL(14,2);
  DECLARE v_middle INT;
  DECLARE v_missing INT DEFAULT 0;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_missing = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  START TRANSACTION;
  UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
  SELECT w_name INTO v_w_name FROM warehouse WHERE w_id = p_w;
  UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
  SELECT d_name INTO v_d_name FROM district WHERE d_w_id = p_w AND d_id = p_d;
  IF p_c = 0 THEN
    SELECT (COUNT(*) + 1) DIV 2 - 1 INTO v_middle FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last;
    SET v_middle = GREATEST(v_middle, 0);
    SELECT c_id INTO p_c FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last
      ORDER BY c_first, c_id LIMIT 1 OFFSET v_middle;
  END IF;
  SELECT c_credit, c_balance - p_amount INTO v_credit, v_balance FROM customer
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c FOR UPDATE;
  IF v_missing THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'oe_payment: no such warehouse, district or customer'; END IF;
  UPDATE customer SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1,
    c_data = IF(v_credit = 'BC', SUBSTR(CONCAT(p_c, ' ', p_c_d, ' ', p_c_w, ' ', p_d, ' ', p_w, ' ', p_amount, ' ', c_data), 1, 500), c_data)
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = p_c;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c, p_c_d, p_c_w, p_d, p_w, CURRENT_TIMESTAMP, p_amount, CONCAT(v_w_name, '    ', v_d_name));
  COMMIT;
  SELECT p_c, v_balance;
END
CREATE PROCEDURE oe_order_status(p_w INT, p_d INT, p_c INT, p_last VARCHAR(16))
BEGIN
  DECLARE v_order, v_middle INT;
  DECLARE v_balance DECIMAL(14,2);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  START TRANSACTION;
  IF p_c = 0 THEN
    SELECT (COUNT(*) + 1) DIV 2 - 1 INTO v_middle FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    SET v_middle = GREATEST(v_middle, 0);
    SELECT c_id INTO p_c FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
      ORDER BY c_first, c_id LIMIT 1 OFFSET v_middle;
  END IF;
  SELECT c_balance INTO v_balance FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  SELECT o_id INTO v_order FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = p_c ORDER BY o_id DESC LIMIT 1;
  SELECT v_order, ol_i_id, ol_amount, ol_supply_w_id, ol_quantity, ol_delivery_d, v_balance FROM order_line
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order;
  COMMIT;
END
CREATE PROCEDURE oe_delivery(p_w INT, p_carrier INT, p_at DATETIME)
BEGIN
  DECLARE v_d INT DEFAULT 1;
  DECLARE v_order, v_customer INT;
  DECLARE v_delivered, v_skipped, v_missing INT DEFAULT 0;
  DECLARE v_sum DECIMAL(12,2);
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_missing = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  START TRANSACTION;
  WHILE v_d <= 10 DO
    SET v_missing = 0;
    SELECT no_o_id INTO v_order FROM new_orders WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF v_missing THEN
      SET v_skipped = v_skipped + 1;
    ELSE
      DELETE FROM new_orders WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_order;
      IF ROW_COUNT() <> 1 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'oe_delivery: another delivery was faster'; END IF;
      SELECT o_c_id INTO v_customer FROM orders WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order FOR UPDATE;
      UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order;
      UPDATE order_line SET ol_delivery_d = p_at WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
      SELECT SUM(ol_amount) INTO v_sum FROM order_line WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
      UPDATE customer SET c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_customer;
      SET v_delivered = v_delivered + 1;
    END IF;
    SET v_d = v_d + 1;
  END WHILE;
  COMMIT;
  SELECT v_delivered, v_skipped;
END
CREATE PROCEDURE oe_stock_level(p_w INT, p_d INT, p_threshold INT)
BEGIN
  DECLARE v_next INT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  START TRANSACTION;
  SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
  SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next AND s_quantity < p_threshold;
  COMMIT;
END
